/** An address as a pod holds it: an IPv4, or an IPv4/IPv6 pair that lives on one ENI in dual stack. */
export type Address = { readonly ipv4: string; readonly ipv6: string | null };

/** The IPv4 names the pair: within one VPC it is unique. */
export type AddressKey = string;

export function addressKey(address: Address): AddressKey {
  return address.ipv4;
}
