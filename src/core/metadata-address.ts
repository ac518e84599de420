/** Where an instance asks who it is, and for its role's credentials. Source: Alibaba Cloud ECS, "Instance metadata". */
export const METADATA_CIDR = '100.100.100.200/32';
