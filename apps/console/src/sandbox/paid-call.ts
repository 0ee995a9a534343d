import type { Data, GatewayResult, Offer, ReceiptProof, SandboxPayment } from '@market/sdk';
import { ApiError } from '../api/client.js';
import type { Verified } from '../lib/verify-receipt.js';
import { exchange, type Exchange } from './exchange.js';
import { forgetAgent, keptAgent, registerAgent, type ThrowAwayAgent } from './throw-away-agent.js';

export const STEPS = ['agent', 'offer', 'payment', 'answer', 'receipt'] as const;
export type StepName = (typeof STEPS)[number];

export interface Step {
  state: 'waiting' | 'running' | 'done' | 'skipped' | 'failed';
  exchanges: Exchange[];
  /** The progress of the proof of work, from 0 to 1. */
  progress?: number;
  error?: unknown;
}

export interface PaidCall {
  steps: Record<StepName, Step>;
  agent?: ThrowAwayAgent;
  offer?: Offer;
  result?: GatewayResult;
  verified?: Verified;
}

const MAX_REPEATS = 10;

export const notBegun = (): PaidCall => ({
  steps: Object.fromEntries(STEPS.map((name) => [name, { state: 'waiting', exchanges: [] }])) as unknown as Record<
    StepName,
    Step
  >,
});

/**
 * Makes one complete paid call in the sandbox, as a program would, and reports every request. It never throws; a
 * failure is reported as the failure of its step.
 */
export async function makePaidCall(slug: string, body: unknown, tell: (call: PaidCall) => void): Promise<void> {
  let call = notBegun();
  const change = (changes: Partial<PaidCall>): void => tell((call = { ...call, ...changes }));
  const step = (name: StepName, changes: Partial<Step>): void =>
    change({ steps: { ...call.steps, [name]: { ...call.steps[name], ...changes } } });
  const add = (name: StepName, made: Exchange): Exchange => {
    step(name, { exchanges: [...call.steps[name].exchanges, made] });
    return made;
  };
  let current: StepName = 'agent';
  const begin = (name: StepName): void => step((current = name), { state: 'running' });
  const end = (state: Step['state'] = 'done'): void => step(current, { state });

  const introduce = async (): Promise<ThrowAwayAgent> => {
    begin('agent');
    const agent =
      keptAgent() ??
      (await registerAgent(
        (made) => void add('agent', made),
        (progress) => step('agent', { progress }),
      ));
    change({ agent });
    end();
    return agent;
  };
  const ask = (agent: ThrowAwayAgent, headers: Record<string, string> = {}): Promise<Exchange> =>
    exchange('POST', `/gateway/${encodeURIComponent(slug)}`, {
      body,
      headers: { Authorization: agent.authorization, ...headers },
    });

  try {
    let agent = await introduce();
    begin('offer');
    const quoted = await ask(agent).catch(async (error: unknown) => {
      // The marketplace may have been restarted after the agent registered.
      if (!(error instanceof ApiError && error.status === 401)) throw error;
      forgetAgent();
      agent = await introduce();
      begin('offer');
      return ask(agent);
    });
    const { payment: offer } = add('offer', quoted).data as { payment: Offer };
    change({ offer });
    end();

    const auth = { Authorization: agent.authorization };
    const { relay_request_id: id } = offer;
    begin('payment');
    const paid = add('payment', await exchange('POST', `/sandbox/payments/${id}/pay`, { headers: auth }));
    end();

    begin('answer');
    const answered = await settled(() => ask(agent, { 'X-Market-Relay-Request-Id': id }));
    const result = add('answer', answered).data as GatewayResult;
    change({ result });
    end();

    begin('receipt');
    if (!result.billable) return end('skipped');
    const receipts = await exchange('GET', '/receipts?role=buyer&limit=50', { headers: auth });
    const { payment_id } = paid.data as SandboxPayment;
    const receipt = (receipts.data as Data<'listReceipts'>).find((candidate) => candidate.payment_id === payment_id);
    if (!receipt) throw new Error('The receipt is not there yet.');
    const proof = add('receipt', await exchange('GET', `/receipts/${receipt.id}/proof`, { headers: auth }));
    const { verifyReceipt } = await import('../lib/verify-receipt.js');
    change({ verified: await verifyReceipt((proof.data as ReceiptProof).jws) });
    end();
  } catch (error) {
    step(current, { state: 'failed', error });
  }
}

/** Repeats the call while the answer is 202, after the delay that the answer states. */
async function settled(ask: () => Promise<Exchange>): Promise<Exchange> {
  for (let repeat = 0; ; repeat += 1) {
    const answer = await ask();
    if (answer.status === 200) return answer;
    if (answer.status !== 202 || repeat === MAX_REPEATS) throw new Error(`The call was answered ${answer.status}.`);
    const { retry_after_seconds: seconds } = answer.data as { retry_after_seconds: number };
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
}
