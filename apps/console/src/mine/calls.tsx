import type { GatewayRequestQuery } from '@market/sdk';
import { Link } from 'wouter';
import { milliseconds, words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { DayFilter, Filter, instantsOf } from '../parts/filters.js';
import { Paged } from '../parts/paged.js';
import { Empty } from '../parts/states.js';
import { Badge, Cents, Time } from '../parts/values.js';
import { useAgent, useAgentLink } from './agent.js';
import { useCalls } from './owner-queries.js';

const STATES = [
  'payment_required',
  'payment_pending',
  'paid',
  'forwarding',
  'settling',
  'succeeded',
  'seller_failed',
  'seller_refused',
  'refund_due',
  'refunded',
  'expired',
];

export function Calls() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Calls of ${name}`);
  const link = useAgentLink();
  const [get] = useFilters();
  const calls = useCalls(id, {
    role: (get('role') || 'all') as GatewayRequestQuery['role'],
    ...(get('status') && { status: get('status') as GatewayRequestQuery['status'] }),
    ...instantsOf(get('from'), get('to')),
    page: Number(get('page') || 1),
    limit: 25,
  });
  return (
    <>
      <h1>Calls</h1>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <Filter name="role" label="As" options={{ buyer: 'buyer', seller: 'seller' }} />
        <Filter
          name="status"
          label="State"
          options={Object.fromEntries(STATES.map((state) => [state, words(state)]))}
        />
        <DayFilter name="from" label="From" />
        <DayFilter name="to" label="To" />
      </form>
      <Paged query={calls} lines={10} of={['call', 'calls']} empty={<Empty title="No calls here" />}>
        {(items) => (
          <div className="scroll" role="region" aria-label="Calls" tabIndex={0}>
            <table>
              <thead>
                <tr>
                  <th>When</th>
                  <th>Listing</th>
                  <th>As</th>
                  <th>State</th>
                  <th className="number">Took</th>
                  <th className="number">Charged</th>
                </tr>
              </thead>
              <tbody>
                {items.map((call) => (
                  <tr key={call.id}>
                    <td>
                      <Link href={link(`/mine/calls/${call.id}`)}>
                        <Time at={call.created_at} />
                      </Link>
                    </td>
                    <td className="clip">{call.listing.name}</td>
                    <td>{call.role}</td>
                    <td>
                      <Badge state={call.status} />
                    </td>
                    <td className="number">{call.latency_ms === null ? '–' : milliseconds(call.latency_ms)}</td>
                    <td className="number">
                      <Cents cents={call.charged_amount.amount_cents} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Paged>
    </>
  );
}
