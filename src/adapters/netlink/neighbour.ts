/** An entry of the neighbour table (ARP or ND). */
export type Neighbour = {
  readonly linkIndex: number;
  readonly ip: string;
  readonly mac: string | null;
  readonly permanent: boolean;
};

export type NewNeighbour = { readonly linkIndex: number; readonly ip: string; readonly mac: string };
