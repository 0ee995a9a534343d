import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A signing secret, sealed. The current one has no expiry; the one before it signs along until it expires. */
@Entity('endpoint_secrets')
export class EndpointSecretEntity {
  @PrimaryColumn('text', { name: 'key_id' }) keyId: string;
  @Column('uuid', { name: 'listing_id' }) listingId: string;
  @Column('bytea', { name: 'secret_sealed' }) secretSealed: Buffer;
  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' }) createdAt: Date;
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt: Date | null;
}
