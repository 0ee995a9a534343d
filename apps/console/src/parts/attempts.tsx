import type { GatewayRequestDetail } from '@market/sdk';
import { milliseconds, words } from '../lib/format.js';
import { Time } from './values.js';

/** All requests to the seller, oldest first. */
export const Attempts = ({ of: attempts }: { of: GatewayRequestDetail['attempts'] }) =>
  attempts.length === 0 ? null : (
    <ol className="attempts" aria-label="Attempts">
      {attempts.map(({ started_at, seller_status_code, latency_ms, outcome }, index) => (
        <li key={index} className={outcome === 'delivered' ? 'done' : 'failed'}>
          <Time at={started_at} />: {words(outcome)}
          {seller_status_code !== null && `, status ${seller_status_code}`}, after {milliseconds(latency_ms)}
        </li>
      ))}
    </ol>
  );
