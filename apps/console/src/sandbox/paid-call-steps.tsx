import { ApiError } from '../api/client.js';
import type { Exchange } from './exchange.js';
import { STEPS, type PaidCall, type Step, type StepName } from './paid-call.js';
import { milliseconds, shortened } from '../lib/format.js';
import { Json } from '../parts/code.js';
import { Failure } from '../parts/states.js';
import { Cents, Hash, Time } from '../parts/values.js';

const TITLES: Record<StepName, string> = {
  agent: 'An agent introduces itself',
  offer: 'It asks, and learns the price',
  payment: 'It pays',
  answer: 'It asks again, and gets the answer',
  receipt: 'It keeps a signed receipt',
};

/** All steps of a paid call with the requests and answers that were sent. */
export const PaidCallSteps = ({ call }: { call: PaidCall }) => (
  <ol className="steps" aria-live="polite">
    {STEPS.map((name) => (
      <li key={name} className={call.steps[name].state}>
        <h3>
          {TITLES[name]} <span className="visually-hidden">({call.steps[name].state})</span>
        </h3>
        {call.steps[name].state !== 'waiting' && <Told name={name} call={call} step={call.steps[name]} />}
      </li>
    ))}
  </ol>
);

function Told({ name, call, step }: { name: StepName; call: PaidCall; step: Step }) {
  return (
    <>
      <p className="muted">{says(name, call, step)}</p>
      {step.state === 'running' && step.progress !== undefined && (
        <progress value={step.progress} aria-label="Proof of work" />
      )}
      {step.error !== undefined && <Failure error={step.error} />}
      {step.error instanceof ApiError && step.error.fields['body'] && (
        <ul className="error small">
          {step.error.fields['body'].split('; ').map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
      {name === 'answer' && call.result && <Json value={call.result.seller_response} label="The seller's answer" />}
      {step.exchanges.map((exchange, index) => (
        <Wire key={index} exchange={exchange} />
      ))}
    </>
  );
}

function says(name: StepName, { agent, offer, result, verified }: PaidCall, { state, exchanges }: Step) {
  if (state === 'failed') return 'This step failed.';
  if (name === 'agent' && agent)
    return (
      <>
        {exchanges.length === 0
          ? 'Registered before, in this tab: '
          : 'A new wallet signed a challenge and did some work: '}
        <Hash of={agent.address} />
      </>
    );
  if (name === 'agent') return 'A wallet is made in this browser, signs a challenge and solves a proof of work…';
  if (name === 'offer' && offer)
    return (
      <>
        HTTP 402 Payment Required: {offer.requirements.amount} {offer.requirements.currency}, good until{' '}
        <Time at={offer.requirements.expiresAt} />. Nothing is charged for asking.
      </>
    );
  if (name === 'payment' && state === 'done') return 'Play money: this marketplace runs in sandbox mode.';
  if (name === 'answer' && result)
    return result.billable ? (
      <>
        Charged <Cents cents={result.charged_amount.amount_cents} />, of which the seller gets{' '}
        <Cents cents={result.fees.seller_receives_cents} />. Asked again, the call repeats its answer and charges
        nothing.
      </>
    ) : (
      `The seller did not deliver (status ${result.seller_status_code}), so nobody is charged.`
    );
  if (name === 'receipt' && verified)
    return (
      <>
        The signature was checked in this browser with the marketplace’s published key <Hash of={verified.kid} />.
      </>
    );
  if (state === 'skipped') return 'Nothing was charged, so there is no receipt.';
  return 'Under way…';
}

const Wire = ({ exchange: { method, path, sent, status, shown, milliseconds: took } }: { exchange: Exchange }) => (
  <details className="wire">
    <summary>
      <code>
        {method} /api/v1{path.replaceAll(/[0-9a-fx-]{30,}/g, shortened)}
      </code>{' '}
      <span className={`status s${Math.floor(status / 100)}`}>{status}</span>{' '}
      <span className="muted">{milliseconds(took)}</span>
    </summary>
    {sent !== undefined && <Json value={sent} label="Sent" />}
    <Json value={shown} label="Answer" />
  </details>
);
