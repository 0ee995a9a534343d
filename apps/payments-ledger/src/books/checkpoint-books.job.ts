import { Database } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { lastMadeAt, writeCheckpoint } from './checkpoints.js';
import { ReceiptSigner } from './receipt-signer.js';
import { verifyBooks, withOwnConnections } from './verify-books.js';

/** How often a process looks whether a checkpoint is due, so that restarts do not put it off. */
const LOOK_MS = 600_000;

/**
 * Verifies once a day what came since the last checkpoint, and signs a new one. Nothing is signed while anything does not
 * add up.
 */
@Injectable()
export class CheckpointBooks implements OnApplicationBootstrap {
  private readonly logger = new Logger('CheckpointBooks');

  constructor(
    private readonly database: Database,
    private readonly signer: ReceiptSigner,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    const { checkpointIntervalMs } = this.config;
    this.jobs.every('checkpoint-books', Math.min(checkpointIntervalMs, LOOK_MS), () => this.run());
  }

  async run(): Promise<void> {
    const madeAt = await lastMadeAt(this.database);
    if (madeAt && Date.now() - madeAt.getTime() < this.config.checkpointIntervalMs) return;
    await withOwnConnections(this.database, (database) => this.verifyAndSign(database));
  }

  private async verifyAndSign(database: Database): Promise<void> {
    const { problems, head, last } = await verifyBooks(database, this.signer, { isFull: false });
    for (const { kind, subject, detail } of problems) this.logger.error({ msg: 'books_wrong', kind, subject, detail });
    if (problems.length === 0 && head.sequence > (last?.checkpoint.sequence ?? 0))
      await writeCheckpoint(database, this.signer, head, last);
  }
}
