import { SpanKind, traceStep } from '@market/tracing';
import { Gauge, Histogram } from 'prom-client';

export const affordableSettlements = new Gauge({
  name: 'market_affordable_settlements',
  help: 'Settlements that the balance of the account which pays for them still covers at the current price, by network',
  labelNames: ['network', 'account'] as const,
});

type Provider = 'facilitator' | 'rpc' | 'relay';

const requestSeconds = new Histogram({
  name: 'market_provider_request_duration_seconds',
  help: 'Requests to facilitators, RPC servers and Relay by operation; failed where no usable answer came',
  labelNames: ['provider', 'operation', 'outcome'] as const,
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120],
});

/**
 * Counts and times requests to another party. A refusal counts as an answer. A thrown error counts as failed unless
 * `isAnswer` accepts it.
 */
export function timed<T>(
  provider: Provider,
  operation: string,
  request: () => Promise<T>,
  isAnswer: (error: unknown) => boolean = () => false,
): Promise<T> {
  const end = requestSeconds.startTimer({ provider, operation });
  return traceStep(`${provider} ${operation}`, SpanKind.Client, async (span) => {
    try {
      const answer = await request();
      end({ outcome: 'answered' });
      return answer;
    } catch (error) {
      const outcome = isAnswer(error) ? 'answered' : 'failed';
      end({ outcome });
      if (outcome === 'failed') span?.fail(outcome);
      throw error;
    }
  });
}
