import { catalog } from '@market/catalog';
import { gateway } from '@market/gateway';
import { identity } from '@market/identity';
import { paymentsLedger } from '@market/payments-ledger';
import { reputation } from '@market/reputation';
import type { ServiceDefinition } from '@market/runtime';

export type StatefulService = ServiceDefinition & Required<Pick<ServiceDefinition, 'database'>>;

/**
 * The services with a database, in the order in which they start. Operators' commands start faster without the edge.
 */
export const statefulServices = [identity, catalog, paymentsLedger, gateway, reputation] as StatefulService[];
