import { catalog } from '@market/catalog';
import { gateway } from '@market/gateway';
import { identity } from '@market/identity';
import { paymentsLedger } from '@market/payments-ledger';
import { reputation } from '@market/reputation';
import type { ServiceDefinition } from '@market/runtime';

export type KeepingService = ServiceDefinition & Required<Pick<ServiceDefinition, 'database'>>;

/** Those that have a database, in the order in which they start. What only administers them starts faster without the edge. */
export const keepingServices = [identity, catalog, paymentsLedger, gateway, reputation] as KeepingService[];
