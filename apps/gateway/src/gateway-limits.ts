import { LimitsModule } from '@market/limits';
import { gatewayConfig } from './config.js';

/** One value, so that the features that import it count in one place. */
export const gatewayLimits = LimitsModule.configuredBy(gatewayConfig);
