import { mapOf, objects } from '../../api/fields.ts';
import type { Evaluator } from './evaluator.ts';

const NAMES: readonly string[] = ['count/services', 'services', 'services.nodeports', 'services.loadbalancers'];

/** Services count by themselves, by the node ports that they take, and as load balancers. */
export const services: Evaluator = {
  handles: ({ subresource, operation }) => subresource === '' && operation !== 'DELETE',
  counts: (name) => NAMES.includes(name),
  inScope: () => false,
  usage: ({ spec }) => {
    const { type, ports, allocateLoadBalancerNodePorts } = mapOf(spec);
    const all = objects(ports);
    const balances = type === 'LoadBalancer';
    const taking =
      balances && allocateLoadBalancerNodePorts === false ? all.filter(({ nodePort }) => Boolean(nodePort)) : all;
    return {
      'count/services': '1',
      services: '1',
      'services.loadbalancers': balances ? '1' : '0',
      'services.nodeports': String(balances || type === 'NodePort' ? taking.length : 0),
    };
  },
};
