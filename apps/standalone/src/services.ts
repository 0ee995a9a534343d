import { apiGateway } from '@market/api-gateway';
import { catalog } from '@market/catalog';
import { gateway } from '@market/gateway';
import { identity } from '@market/identity';
import { paymentsLedger } from '@market/payments-ledger';
import { reputation } from '@market/reputation';
import type { ServiceDefinition } from '@market/runtime';

/** The whole marketplace, in the order in which it starts; the edge last. */
export const services = [identity, catalog, paymentsLedger, gateway, reputation, apiGateway] as ServiceDefinition[];
