import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';

export type EndpointStatus = 'unverified' | 'active' | 'paused' | 'failing';

/** Where and how a seller is called. Its URL is write-only to the outside. */
@Entity('endpoints')
export class EndpointEntity {
  @PrimaryColumn('uuid', { name: 'listing_id' }) listingId: string;
  @Column('uuid', { name: 'seller_id' }) sellerId: string;
  /** As an earlier version stored it; empty, and the three below filled, once the service has started (`SealEndpointUrls`). */
  @Column('text', { name: 'url', nullable: true }) readableUrl: null;
  /** Sealed, because its path or query may be all that keeps strangers out. */
  @Column('bytea', { name: 'url_sealed', nullable: true }) urlSealed: Buffer;
  /** By which a URL is known again without opening it. */
  @Column('bytea', { name: 'url_digest', nullable: true }) urlDigest: Buffer;
  @Column('text', { name: 'url_host', nullable: true }) urlHost: string;
  @Column('text', { name: 'auth_header_name', nullable: true }) authHeaderName: string | null;
  @Column('bytea', { name: 'auth_header_sealed', nullable: true }) authHeaderSealed: Buffer | null;
  @Column('int', { name: 'timeout_ms' }) timeoutMs: number;
  @Column('int', { name: 'max_request_bytes' }) maxRequestBytes: number;
  @Column('int', { name: 'max_response_bytes' }) maxResponseBytes: number;
  @Column('int', { name: 'max_concurrency' }) maxConcurrency: number;
  @Column('int', { name: 'requests_per_minute', nullable: true }) requestsPerMinute: number | null;
  @Column('text') status: EndpointStatus;
  @Column('int', { name: 'consecutive_failures', default: 0 }) consecutiveFailures: number;
  /** When the URL last proved itself by a first success or a passing test; null until it has. */
  @Column('timestamptz', { name: 'verified_at', nullable: true }) verifiedAt: Date | null;
  /** While it is failing: when the next paid call may try it. */
  @Column('timestamptz', { name: 'probe_at', nullable: true }) probeAt: Date | null;
  @Column('timestamptz', { name: 'last_test_at', nullable: true }) lastTestAt: Date | null;
  @Column('boolean', { name: 'last_test_ok', nullable: true }) lastTestOk: boolean | null;
  @Column('int', { name: 'last_test_status_code', nullable: true }) lastTestStatusCode: number | null;
  @Column('int', { name: 'last_test_latency_ms', nullable: true }) lastTestLatencyMs: number | null;
  /** Grows with each change that other services hear of. */
  @Column('int') version: number;
  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' }) createdAt: Date;
  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' }) updatedAt: Date;
}
