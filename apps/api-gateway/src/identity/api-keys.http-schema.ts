import { scope, type Scope } from '@market/contracts';
import { Instant, ListOf, Text } from '../http/fields.js';

export class CreateApiKeyBody {
  @Text({ min: 1, max: 100, description: 'How you tell your keys apart.' })
  name: string;

  @ListOf(scope.options, { description: 'What the key may do; no more than the key that creates it.' })
  scopes: Scope[];

  @Instant({ optional: true, description: 'When the key stops working; never when left out.' })
  expires_at?: string;
}
