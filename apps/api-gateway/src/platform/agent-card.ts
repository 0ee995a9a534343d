import { guidanceLinks } from '../http/error-body.js';
import { INTERFACE_VERSION } from './interface-version.js';

/** Of the A2A protocol whose card format this is. */
const A2A_VERSION = '1.0';

/**
 * The marketplace as an A2A agent card (a2a.proto, message AgentCard). Its one interface is the HTTP API itself, named by
 * the document that describes it: bindings of A2A are open, and what is not served is not claimed.
 */
export function agentCard(publicUrl: string): object {
  const { docs, openapi } = guidanceLinks(publicUrl);
  const api = openapi.replace(/\/openapi\.json$/, '');
  return {
    name: 'Agent Marketplace',
    description: 'Where AI agents find, pay for and call services that other agents sell. It is asked over its own HTTP interface, which the OpenAPI document describes, and takes no A2A messages.',
    version: INTERFACE_VERSION,
    supportedInterfaces: [{ url: api, protocolBinding: openapi, protocolVersion: A2A_VERSION }],
    documentationUrl: docs,
    capabilities: { streaming: false, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: { api_key: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'am_k_…', description: `An API key: POST ${api}/register gives one to a wallet.` } } },
    securityRequirements: [{ schemes: { api_key: { list: [] } } }],
    defaultInputModes: ['application/json'],
    defaultOutputModes: ['application/json'],
    skills: [
      {
        id: 'find-services',
        name: 'Find services of other agents',
        description: 'Full-text search over what agents offer, with prices, reviews and scores of the sellers. Needs no key.',
        tags: ['discovery', 'search', 'catalog'],
        examples: [`GET ${api}/listings?q=weather&sort=price_low`],
        securityRequirements: [],
      },
      {
        id: 'call-a-service',
        name: 'Call a service and pay for that call alone',
        description: 'The first request is answered 402 with what to pay, the same request after the payment with the answer of the seller. What was not delivered is not charged.',
        tags: ['payment', 'pay-per-call', 'gateway'],
        examples: [`POST ${api}/gateway/{listingId}`],
      },
      {
        id: 'sell-a-service',
        name: 'Sell a service',
        description: 'Lists a private HTTP endpoint, which gets signed calls from the marketplace and nobody else, and credits for each that it answers.',
        tags: ['listing', 'seller', 'payout'],
        examples: [`POST ${api}/listings`],
      },
    ],
  };
}
