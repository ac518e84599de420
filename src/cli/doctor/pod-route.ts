/**
 * Mode VPC: whether the VPC leads this node's pods here. The routes are somebody else's to make, mostly the cloud controller manager's, who says so on the Node object.
 */
import { type Check, ok, problem, warning } from './check.ts';

const HOW =
  'let the cloud controller manager make them (--configure-cloud-routes, --allocate-node-cidrs), or make a route of the VPC’s table for the node’s podCIDR to its instance; a table has about 48 entries';

export const podRouteCheck: Check = {
  name: 'pod route',
  of({ podRoute }) {
    if (podRoute === undefined) return [];
    if (podRoute === null)
      return [warning('nobody says on the Node object that the VPC’s route table leads this node’s pods here', HOW)];
    const { made, reason, message } = podRoute;
    const said = [reason, message].filter((part) => part !== '').join(': ');
    return made ? [ok(said)] : [problem(`the VPC’s route to this node’s pods is missing: ${said}`, HOW)];
  },
};
