import { apiGateway } from '@market/api-gateway';
import type { ServiceDefinition } from '@market/runtime';
import { statefulServices } from './stateful-services.js';

/** The whole marketplace, in the order in which it starts; the edge last. */
export const services = [...statefulServices, apiGateway] as ServiceDefinition[];
