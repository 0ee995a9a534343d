import { principal as principalSchema, type Principal, type ServiceTopology } from '@market/contracts';
import { sign, verify, type KeyObject } from 'node:crypto';
import type { RequestEnvelope } from '../envelope.js';

/** The longest call takes ten minutes (`API_GATEWAY_CALL_BUDGET_MS`), and its last request is for the same caller. */
const VALID_MS = 11 * 60_000;
const MAX_REMEMBERED = 10_000;

/** A request as the broker carries it: the principal as the edge signed it, or an unsigned one. */
export interface SignedEnvelope extends RequestEnvelope {
  meta: RequestEnvelope['meta'] & { proof?: string };
}

/** The principal of a request was signed by somebody other than the edge, or too long ago. */
export class ForgedPrincipal extends Error {
  override readonly name = 'ForgedPrincipal';
}

export interface PrincipalKeys {
  /** The edge's Ed25519 private key; only the edge has it. */
  sign?: KeyObject;
  /** The edge's Ed25519 public keys: one, or two while it is replaced. */
  verify: readonly KeyObject[];
}

/**
 * Authenticates the principals of requests, so that a service, or who has stolen its key, cannot speak for an account
 * that did not call it. The edge signs each principal once a minute; services verify it, and send it on with what they
 * ask of others. A proof is `base64url({ principal, until }).base64url(Ed25519 signature)`.
 */
export class Principals {
  private readonly signed = new Map<string, string>();
  private readonly verified = new Map<string, { principal: Principal; until: number }>();
  private readonly proofs = new WeakMap<Principal, string>();
  private minute = 0;
  private readonly onBehalf: ReadonlySet<string>;

  constructor(
    private readonly keys: PrincipalKeys,
    { serves }: Pick<ServiceTopology, 'serves'>,
    private readonly now: () => number = Date.now,
  ) {
    this.onBehalf = new Set(
      Object.values(serves)
        .filter(({ onBehalf }) => onBehalf)
        .map(({ subject }) => subject),
    );
  }

  /** Returns the request with the proof of its principal, if there is one. */
  send(envelope: RequestEnvelope): SignedEnvelope {
    const { principal, ...meta } = envelope.meta ?? {};
    const proof = principal && this.proofOf(principal);
    return proof ? { meta: { ...meta, proof }, data: envelope.data } : envelope;
  }

  /**
   * Returns the request with the principal that its proof proves. An unsigned one is left out, except where the
   * contract allows to ask on behalf of an account.
   * @throws ForgedPrincipal
   */
  receive(subject: string, envelope: SignedEnvelope): RequestEnvelope {
    const { proof, principal, ...meta } = envelope?.meta ?? {};
    const data = envelope?.data;
    if (proof !== undefined) return { meta: { ...meta, principal: this.verify(proof) }, data };
    return { meta: this.onBehalf.has(subject) ? { ...meta, principal } : meta, data };
  }

  private proofOf(principal: Principal): string | undefined {
    return this.keys.sign ? this.sign(principal, this.keys.sign) : this.proofs.get(principal);
  }

  private sign(principal: Principal, key: KeyObject): string {
    const minute = Math.floor(this.now() / 60_000);
    if (minute !== this.minute || this.signed.size >= MAX_REMEMBERED) this.signed.clear();
    this.minute = minute;
    const text = JSON.stringify(principal);
    const known = this.signed.get(text);
    if (known) return known;
    const claims = Buffer.from(`{"principal":${text},"until":${minute * 60_000 + VALID_MS}}`);
    const proof = `${claims.toString('base64url')}.${sign(null, claims, key).toString('base64url')}`;
    this.signed.set(text, proof);
    return proof;
  }

  private verify(proof: string): Principal {
    const known = this.verified.get(proof) ?? this.verifyFirst(proof);
    if (known.until > this.now()) return known.principal;
    this.verified.delete(proof);
    throw new ForgedPrincipal('its proof is no longer valid');
  }

  private verifyFirst(proof: string): { principal: Principal; until: number } {
    const [claims, signature] =
      typeof proof === 'string' ? proof.split('.').map((part) => Buffer.from(part, 'base64url')) : [];
    if (!claims || !signature || !this.keys.verify.some((key) => verify(null, claims, key, signature)))
      throw new ForgedPrincipal('it is not signed by the edge');
    const { principal, until } = JSON.parse(claims.toString()) as { principal: unknown; until: number };
    const known = { principal: principalSchema.parse(principal), until };
    if (this.verified.size >= MAX_REMEMBERED) this.verified.clear();
    this.verified.set(proof, known);
    this.proofs.set(known.principal, proof);
    return known;
  }
}
