import { executeCall, executeKeylessCall, getGatewayRequest, listGatewayRequests } from './calls.js';
import { openContent, readContent, readStream } from './contents.js';
import {
  findJobSeconds,
  getEndpoint,
  provisionEndpoint,
  rotateEndpointSecret,
  testEndpoint,
  updateEndpoint,
} from './endpoints.js';
import { operationsOf } from '../operations.js';
import { findCalls, getCallsOverview, inspectCall } from './operators.js';
import { addDeliveryPiece, cancelCall, deliverJob, openDelivery } from './jobs.js';
import { getListingQuality } from './quality.js';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhookDeliveries,
  listWebhooks,
  replayWebhookDelivery,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from './webhooks.js';

export * from './calls.js';
export * from './contents.js';
export * from './endpoints.js';
export * from './jobs.js';
export * from './operators.js';
export * from './quality.js';
export * from './webhooks.js';

export const gatewayContract = {
  executeCall,
  executeKeylessCall,
  listGatewayRequests,
  getGatewayRequest,
  openContent,
  readContent,
  readStream,
  openDelivery,
  addDeliveryPiece,
  deliverJob,
  cancelCall,
  provisionEndpoint,
  getEndpoint,
  updateEndpoint,
  testEndpoint,
  rotateEndpointSecret,
  findJobSeconds,
  getListingQuality,
  listWebhooks,
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  listWebhookDeliveries,
  replayWebhookDelivery,
  findCalls,
  inspectCall,
  getCallsOverview,
  ...operationsOf('gateway'),
};
