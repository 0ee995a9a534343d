import type { ServiceContract } from '@market/contracts';
import type { RequestServer } from './transport.js';

/** Throws if a declared request has no handler, or if a handler serves an undeclared request. */
export function assertContractServed(service: string, server: RequestServer, contract: ServiceContract): void {
  const served = new Set(server.getHandlers().keys());
  const declared = Object.values(contract).map((request) => request.subject);
  const missing = declared.filter((subject) => !served.has(subject));
  if (missing.length > 0) throw new Error(`${service} does not serve: ${missing.join(', ')}`);
  const undeclared = [...served].filter((subject) => !declared.includes(subject));
  if (undeclared.length > 0)
    throw new Error(`${service} serves what its contract does not declare: ${undeclared.join(', ')}`);
}
