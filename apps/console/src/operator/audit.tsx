import { useTitle } from '../lib/use-title.js';
import { Empty, Loaded } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { Hash, Time } from '../parts/values.js';
import { useAudit } from './operator-queries.js';

/** The recorded actions and reads of operators, newest first. */
export function Audit() {
  useTitle('Audit');
  const audit = useAudit();
  return (
    <>
      <h1>Audit</h1>
      <Loaded query={audit} lines={12}>
        {({ pages }) => {
          const entries = pages.flatMap(({ data }) => data);
          return entries.length === 0 ? (
            <Empty title="Nobody did anything yet" />
          ) : (
            <>
              <Table
                label="What was done"
                head={['When', 'Operator', 'Did', 'To', 'Why', 'Service']}
                rows={entries.map(({ at, operator, command, subject, reason, service }) => [
                  <Time at={at} />,
                  <Hash of={operator} />,
                  command,
                  <span title={subject}>{subject}</span>,
                  reason ?? '–',
                  service,
                ])}
              />
              {audit.hasNextPage && (
                <button type="button" disabled={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
                  Earlier
                </button>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}
