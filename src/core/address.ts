/** An address as a pod holds it: an IPv4, or an IPv4/IPv6 pair that lives on one ENI in dual stack. */
export type Address = { readonly ipv4: string; readonly ipv6: string | null };

/** The IPv4 names the pair: within one VPC it is unique. */
export type AddressKey = string;

export function addressKey(address: Address): AddressKey {
  return address.ipv4;
}

/** Each rests by its own name, since nothing but a lease says which belong together. */
export function halvesOf({ ipv4, ipv6 }: Address): readonly string[] {
  return ipv6 === null ? [ipv4] : [ipv4, ipv6];
}
