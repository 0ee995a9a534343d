import { LimitsModule } from '@market/limits';
import { gatewayConfig } from './config.js';

/** A shared instance, so that all features that import it use the same counters. */
export const gatewayLimits = LimitsModule.configuredBy(gatewayConfig);
