import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';

export type EndpointHealth = 'unverified' | 'active' | 'failing';
export type EndpointStatus = EndpointHealth | 'paused';

/** Where and how a seller is called. Its URL is write-only to the outside. */
@Entity('endpoints')
export class EndpointEntity {
  @PrimaryColumn('uuid', { name: 'listing_id' }) listingId: string;
  @Column('uuid', { name: 'seller_id' }) sellerId: string;
  /** Sealed, because its path or query may be all that keeps strangers out. */
  @Column('bytea', { name: 'url_sealed' }) urlSealed: Buffer;
  /** By which a URL is known again without opening it. */
  @Column('bytea', { name: 'url_digest' }) urlDigest: Buffer;
  @Column('text', { name: 'url_host' }) urlHost: string;
  @Column('text', { name: 'auth_header_name', nullable: true }) authHeaderName: string | null;
  @Column('bytea', { name: 'auth_header_sealed', nullable: true }) authHeaderSealed: Buffer | null;
  @Column('int', { name: 'timeout_ms' }) timeoutMs: number;
  @Column('int', { name: 'max_request_bytes' }) maxRequestBytes: number;
  @Column('int', { name: 'max_response_bytes' }) maxResponseBytes: number;
  @Column('int', { name: 'max_concurrency' }) maxConcurrency: number;
  @Column('int', { name: 'requests_per_minute', nullable: true }) requestsPerMinute: number | null;
  /** By its owner. */
  @Column('boolean', { default: false }) paused: boolean;
  /** What is known of the URL; a pause leaves it as it is. */
  @Column('text', { default: 'unverified' }) health: EndpointHealth;
  /** The calls that failed since the last that did not, and the first two of their buyers; a call that fails again is one of them. */
  @Column('uuid', { name: 'failed_calls', array: true, default: [] }) failedCalls: string[];
  @Column('uuid', { name: 'failed_buyers', array: true, default: [] }) failedBuyers: string[];
  /** When the marketplace's own test is due next; null when none is. */
  @Column('timestamptz', { name: 'probe_at', nullable: true }) probeAt: Date | null;
  @Column('timestamptz', { name: 'last_test_at', nullable: true }) lastTestAt: Date | null;
  @Column('boolean', { name: 'last_test_ok', nullable: true }) lastTestOk: boolean | null;
  @Column('int', { name: 'last_test_status_code', nullable: true }) lastTestStatusCode: number | null;
  @Column('int', { name: 'last_test_latency_ms', nullable: true }) lastTestLatencyMs: number | null;
  /** Grows with each change that other services hear of. */
  @Column('int') version: number;
  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' }) createdAt: Date;
  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' }) updatedAt: Date;

  get status(): EndpointStatus {
    return this.paused ? 'paused' : this.health;
  }
}
