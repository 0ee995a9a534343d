import { z } from 'zod';
import type { Observation } from '../../payments/payment-state.js';

/** What Relay says of a request. Source: docs.relay.link, "Get Status", "Webhooks"; its SDK names all of them but `delayed`. */
export const RELAY_STATUSES = [
  'waiting',
  'depositing',
  'pending',
  'submitted',
  'delayed',
  'success',
  'refund',
  'failure',
] as const;

const hash = z.string().regex(/^[0-9A-Za-z]{1,128}$/);
/** For people to read; one that is odd is left out. Relay writes N/A where there is none. */
const reason = z
  .string()
  .regex(/^(?!N\/A$)[\w .:/-]{1,100}$/)
  .nullish()
  .catch(null);
const statusAnswer = z.object({
  status: z.enum(RELAY_STATUSES),
  inTxHashes: z.array(hash).nullish(),
  txHashes: z.array(hash).nullish(),
  originChainId: z.number().nullish(),
  failReason: reason,
  refundFailReason: reason,
});
export type RelayStatus = z.output<typeof statusAnswer>;

/** @throws Error when it is not as documented, or speaks of another chain: then nothing is known. */
export function readStatus(answer: unknown, originChainId: number): RelayStatus {
  const parsed = statusAnswer.safeParse(answer);
  if (!parsed.success)
    throw new Error(
      `Relay's status is not as documented at ${parsed.error.issues.map(({ path }) => path.join('.') || 'its root').join(', ')}`,
    );
  if ((parsed.data.originChainId ?? originChainId) !== originChainId)
    throw new Error("Relay's status is of a payment on another chain");
  if (parsed.data.status === 'success' && transactionOf(parsed.data) === null)
    throw new Error('Relay names no transaction of a success');
  return parsed.data;
}

/**
 * Relay takes the exact amount or sends back what came, and what is more it sends back too: an offer is paid whole or not
 * at all, and what Relay keeps or sends back is nothing that we owe.
 * @param isOver whether nothing that still comes can pay the offer
 */
export function observationOf(status: RelayStatus, amountBaseUnits: bigint, isOver: boolean): Observation {
  const nothing = { receivedBaseUnits: 0n, arriving: false, transactionHash: null };
  switch (status.status) {
    case 'waiting':
      return { ...nothing, isClosed: isOver };
    case 'success':
      return {
        receivedBaseUnits: amountBaseUnits,
        arriving: false,
        transactionHash: transactionOf(status),
        isClosed: true,
      };
    case 'refund':
      return { ...nothing, failed: true, isClosed: true };
    // Relay goes on from a failure, to a refund as a rule: it is asked again at the end of the offer's time.
    case 'failure':
      return { ...nothing, failed: true, isClosed: isOver };
    default:
      return { ...nothing, arriving: true };
  }
}

/** What became of money that did not buy what it was for; null where none came. */
export function dispositionOf({
  status,
  inTxHashes,
  failReason,
  refundFailReason,
}: RelayStatus): { explained: boolean; why: string } | null {
  const because = failReason ? ` (${failReason})` : '';
  switch (status) {
    case 'waiting':
      return null;
    case 'success':
      return { explained: true, why: 'Relay paid the seller; what the buyer is owed back stands in its ledger' };
    case 'refund':
      return { explained: true, why: `Relay sent the money back to the buyer's wallet${because}` };
    case 'failure':
      return inTxHashes?.length
        ? {
            explained: false,
            why: `Relay took ${inTxHashes[0]} and neither delivered it nor sent it back${refundFailReason ? ` (${refundFailReason})` : because}`,
          }
        : { explained: true, why: `Relay gave up before money came${because}` };
    default:
      return { explained: true, why: 'Relay has the money and is delivering it' };
  }
}

/** The one that paid the seller; else the one that paid Relay. */
const transactionOf = ({ txHashes, inTxHashes }: RelayStatus): string | null =>
  txHashes?.[0] ?? inTxHashes?.[0] ?? null;
