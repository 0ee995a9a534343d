import type { Scope } from '@market/contracts';
import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

@Entity('api_keys')
@Index('api_keys_key_hash', ['keyHash'], { unique: true })
@Index('api_keys_account_id', ['accountId'])
@Check('api_keys_hash_is_sha256', 'length(key_hash) = 32')
@Check('api_keys_scopes', `scopes <@ ARRAY['read', 'write', 'subscribe'] AND cardinality(scopes) > 0`)
export class ApiKeyEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'api_keys_pkey' })
  id: string;

  @Column('uuid', { name: 'account_id' })
  @ForeignKey('AccountEntity', { name: 'api_keys_account' })
  accountId: string;

  @Column('text')
  name: string;

  /** SHA-256 of the raw key, which is stored nowhere. */
  @Column('bytea', { name: 'key_hash' })
  keyHash: Buffer;

  @Column('text', { name: 'key_prefix' })
  keyPrefix: string;

  @Column('text', { array: true })
  scopes: Scope[];

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'expires_at', nullable: true })
  expiresAt: Date | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt: Date | null;

  @Column('timestamptz', { name: 'last_used_at', nullable: true })
  lastUsedAt: Date | null;
}
