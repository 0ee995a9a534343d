import {
  platformRefusals,
  type PlatformReason,
  type ReasonOf,
  type RefusalDeclaration,
  type RefusalDetailsOf,
  type RequestContract,
} from '@market/contracts';

/** A declared refusal, as a service throws it and as its caller receives it. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  constructor(
    readonly reason: string,
    readonly declaration: RefusalDeclaration,
    readonly details: Record<string, unknown>,
  ) {
    super(declaration.message);
  }
}

/** `throw refuse(contract, 'reason', details)`. Only what the contract declares compiles. */
export function refuse<C extends RequestContract, K extends ReasonOf<C>>(
  contract: C,
  reason: K,
  details: RefusalDetailsOf<C, K>,
): Refusal {
  return new Refusal(reason, contract.refusals[reason]!, details as Record<string, unknown>);
}

export function refusePlatform(reason: PlatformReason, details: Record<string, unknown> = {}): Refusal {
  return new Refusal(reason, platformRefusals[reason], details);
}

/** Returns the declaration of a received reason; undefined if neither the contract nor the platform declares it. */
export function declarationOf(contract: RequestContract, reason: string): RefusalDeclaration | undefined {
  return contract.refusals[reason] ?? (platformRefusals as Record<string, RefusalDeclaration>)[reason];
}

/** True for a refusal with this reason of this contract, so that a caller can handle it. */
export function isRefusal<C extends RequestContract>(
  error: unknown,
  contract: C,
  reason: ReasonOf<C>,
): error is Refusal {
  return error instanceof Refusal && error.reason === reason && contract.refusals[reason] !== undefined;
}
