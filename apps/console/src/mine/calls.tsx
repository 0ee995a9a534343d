import type { GatewayRequestQuery } from '@market/sdk';
import { Link } from 'wouter';
import { milliseconds, words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { DayFilter, Filter, instantsOf } from '../parts/filters.js';
import { Paged } from '../parts/paged.js';
import { Empty } from '../parts/states.js';
import { Table } from '../parts/table.js';
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
        <Filter name="role" label="Role" options={{ buyer: 'buyer', seller: 'seller' }} />
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
          <Table
            label="Calls"
            head={['When', 'Listing', 'Role', 'State', 'Duration', 'Charged']}
            numbers={['Duration', 'Charged']}
            rows={items.map((call) => [
              <Link href={link(`/mine/calls/${call.id}`)}>
                <Time at={call.created_at} />
              </Link>,
              call.listing.name,
              call.role,
              <Badge state={call.status} />,
              call.latency_ms === null ? '–' : milliseconds(call.latency_ms),
              <Cents cents={call.charged_amount.amount_cents} />,
            ])}
          />
        )}
      </Paged>
    </>
  );
}
