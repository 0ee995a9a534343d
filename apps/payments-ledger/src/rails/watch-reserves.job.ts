import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { affordableSettlements } from './metrics.js';
import { PAYMENT_RAILS, type PaymentRail } from './payment-rail.js';

/** For how long a start waits for facilitators and chains. */
const START_MS = 2_000;

/**
 * Reads what the operator's settling accounts still have, and what other facilitators settle: before the first offer, and
 * then again and again. Each process does it, because each makes offers. While nobody can settle on a network, no offer is
 * made and no signature is held there, so that no seller delivers what cannot be paid.
 */
@Injectable()
export class WatchReserves implements OnApplicationBootstrap {
  private readonly logger = new Logger('WatchReserves');
  /** The networks that are closed, so that each change is logged once. */
  private readonly closed = new Set<string>();

  constructor(
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.rails.some(({ exact }) => exact)) return;
    this.jobs.beforeReady(() =>
      Promise.race([
        this.run().catch((error: Error) => this.logger.warn(`what can be settled is not known: ${error.message}`)),
        delay(START_MS, undefined, { ref: false }),
      ]),
    );
    this.jobs.every('watch-reserves', this.config.sampleIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    await Promise.all(
      this.rails.map(async (rail) => {
        if (!rail.exact) return;
        const { facilitators } = rail.exact;
        const networks = new Set(rail.routes().flatMap(({ network, scheme }) => (scheme === 'exact' ? [network] : [])));
        const reserves = await facilitators.readReserves(networks);
        for (const { network, account, settlements } of reserves)
          affordableSettlements.set({ network, account }, settlements);
        for (const network of networks) this.logProblem(network, facilitators.problemOn(network));
      }),
    );
  }

  private logProblem(network: string, problem: string | undefined): void {
    if ((problem !== undefined) === this.closed.has(network)) return;
    if (problem === undefined) {
      this.closed.delete(network);
      this.logger.log(`${network} is open for payments again`);
    } else {
      this.closed.add(network);
      this.logger.error(`no offer is made on ${network}: ${problem}`);
    }
  }
}
