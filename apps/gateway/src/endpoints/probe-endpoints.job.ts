import { newRequestContext } from '@market/messaging';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { CallEvidence } from '../quality/call-evidence.js';
import { EndpointHealth } from './endpoint-health.js';
import { TestEndpoint } from './test-endpoint.use-case.js';

const POLL_INTERVAL_MS = 1_000;
const BATCH_SIZE = 50;
/** Longer than the maximum timeout of an endpoint. */
const PROBE_BUDGET_MS = 130_000;

/**
 * Tests the endpoints that are due (see `EndpointHealth`), each in one process. The tests run concurrently, so that a
 * slow seller does not delay others.
 */
@Injectable()
export class ProbeEndpoints implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('ProbeEndpoints');
  private readonly running = new Set<Promise<unknown>>();
  private readonly leaving = new AbortController();

  constructor(
    private readonly health: EndpointHealth,
    private readonly testEndpoint: TestEndpoint,
    private readonly evidence: CallEvidence,
    private readonly jobs: Jobs,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('probe-endpoints', Math.min(POLL_INTERVAL_MS, this.config.probeIntervalMs), () => this.run());
  }

  async onModuleDestroy(): Promise<void> {
    this.leaving.abort();
    await Promise.all(this.running);
  }

  private async run(): Promise<void> {
    for (const endpoint of await this.health.takeDue(BATCH_SIZE - this.running.size)) {
      const probe = this.testEndpoint
        .test(endpoint, newRequestContext({ budgetMs: PROBE_BUDGET_MS }), this.leaving.signal)
        .then(async (tested) => {
          if (tested && !this.leaving.signal.aborted) await this.evidence.addProbe(endpoint.listingId, tested);
        })
        .catch((error: unknown) =>
          this.logger.warn(`the endpoint of ${endpoint.listingId} was not probed: ${String(error)}`),
        )
        .finally(() => this.running.delete(probe));
      this.running.add(probe);
    }
  }
}
