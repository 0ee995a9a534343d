import { executeCall, executeKeylessCall, getGatewayRequest, listGatewayRequests } from './calls.js';
import { getEndpoint, provisionEndpoint, rotateEndpointSecret, testEndpoint, updateEndpoint } from './endpoints.js';

export * from './calls.js';
export * from './endpoints.js';
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
};
