import { ObjectOf, OneOf, Text, WholeNumber } from '../http/fields.js';

export class AuthHeaderBody {
  @Text({ min: 1, max: 128 })
  name: string;

  @Text({ min: 1, max: 4_096 })
  value: string;
}

export class EndpointLimitsBody {
  @WholeNumber({ min: 1_024, max: 1_048_576, optional: true })
  max_request_bytes?: number;

  @WholeNumber({ min: 1_024, max: 4_194_304, optional: true })
  max_response_bytes?: number;

  @WholeNumber({ min: 1, max: 256, optional: true })
  max_concurrency?: number;

  @WholeNumber({ min: 1, max: 60_000, nullable: true, optional: true, description: 'null: as many as max_concurrency lets through.' })
  requests_per_minute?: number | null;
}

export class UpdateEndpointBody {
  @Text({ min: 1, max: 2_048, optional: true })
  private_endpoint_url?: string;

  @ObjectOf(AuthHeaderBody, { nullable: true, optional: true, description: 'A header every forwarded call carries; null removes it.' })
  auth_header?: AuthHeaderBody | null;

  @WholeNumber({ min: 1_000, max: 120_000, optional: true, description: 'The whole call, in milliseconds.' })
  timeout_ms?: number;

  @ObjectOf(EndpointLimitsBody, { optional: true })
  limits?: EndpointLimitsBody;

  @OneOf(['active', 'paused'], { optional: true })
  status?: 'active' | 'paused';
}

export class RotateSecretBody {
  @WholeNumber({ min: 0, max: 604_800, optional: true, default: 86_400, description: 'How many seconds calls carry both signatures.' })
  overlap_seconds?: number;
}
