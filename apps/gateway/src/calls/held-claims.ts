import { CLAIMS_HELD_INTERVAL_MS, claimsHeld } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { MessageBus } from '@market/messaging';
import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';

/** The claims that this process holds. It names them to the ledger as long as it lives, which keeps others from claiming the same payments. */
@Injectable()
export class HeldClaims implements OnApplicationBootstrap, OnModuleDestroy {
  /** Of this process, until it ends. */
  readonly holderId = newId();
  private readonly paymentIds = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly bus: MessageBus) {}

  onApplicationBootstrap(): void {
    this.announce();
    this.timer = setInterval(() => this.announce(), CLAIMS_HELD_INTERVAL_MS);
  }

  /** Comes when the last call under way is answered. */
  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  async during<T>(paymentId: string, work: () => Promise<T>): Promise<T> {
    this.paymentIds.add(paymentId);
    try {
      return await work();
    } finally {
      this.paymentIds.delete(paymentId);
    }
  }

  private announce(): void {
    this.bus.signal(claimsHeld, { holderId: this.holderId, paymentIds: [...this.paymentIds] });
  }
}
