import { executeCall, executeKeylessCall, getGatewayRequest, listGatewayRequests } from './calls.js';
import { getEndpoint, provisionEndpoint, rotateEndpointSecret, testEndpoint, updateEndpoint } from './endpoints.js';
import { operationsOf } from '../operations.js';
import { findCalls, getCallsOverview, inspectCall } from './operators.js';
import { getListingQuality } from './quality.js';

export * from './calls.js';
export * from './endpoints.js';
export * from './operators.js';
export * from './quality.js';

export const gatewayContract = {
  executeCall,
  executeKeylessCall,
  listGatewayRequests,
  getGatewayRequest,
  provisionEndpoint,
  getEndpoint,
  updateEndpoint,
  testEndpoint,
  rotateEndpointSecret,
  getListingQuality,
  findCalls,
  inspectCall,
  getCallsOverview,
  ...operationsOf('gateway'),
};
