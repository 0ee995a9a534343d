/** Shorter vectors are filled with zeros, which changes no angle between them. */
export const DIMENSIONS = 1_536;

/**
 * The embeddings of active listings, in a PostgreSQL that has pgvector 0.8 or later. A row without the model that is in
 * use is due; `version` tells a listing that changed while its embedding was made.
 */
export const EMBEDDINGS_SCHEMA = `
  DO $$ BEGIN
    IF to_regclass('listing_embeddings') IS NOT NULL OR NOT EXISTS (
      SELECT FROM pg_available_extensions WHERE name = 'vector'
        AND string_to_array(coalesce(installed_version, default_version), '.')::int[] >= '{0,8}')
    THEN RETURN; END IF;
    BEGIN
      CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
    EXCEPTION WHEN insufficient_privilege THEN
      RAISE WARNING 'listings cannot be found by meaning: create the extension vector as a superuser, then migrate again';
      RETURN;
    END;
    CREATE TABLE listing_embeddings (
      listing_id uuid PRIMARY KEY REFERENCES listings (id) ON DELETE CASCADE,
      model text NOT NULL DEFAULT '',
      version int NOT NULL DEFAULT 0,
      taken_until timestamptz NOT NULL DEFAULT '-infinity',
      embedding halfvec(${DIMENSIONS})
    );
    CREATE INDEX listing_embeddings_model ON listing_embeddings (model);
    CREATE INDEX listing_embeddings_nearest ON listing_embeddings USING hnsw (embedding halfvec_cosine_ops);
    CREATE FUNCTION note_embedding_due() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $due$ BEGIN
      IF NEW.status = 'active' THEN
        INSERT INTO listing_embeddings (listing_id) VALUES (NEW.id)
        ON CONFLICT (listing_id) DO UPDATE
          SET model = '', version = listing_embeddings.version + 1, taken_until = '-infinity';
      ELSE
        DELETE FROM listing_embeddings WHERE listing_id = NEW.id;
      END IF;
      RETURN NULL;
    END $due$;
    CREATE TRIGGER embedding_of_new AFTER INSERT ON listings FOR EACH ROW EXECUTE FUNCTION note_embedding_due();
    CREATE TRIGGER embedding_of_changed AFTER UPDATE OF name, tags, description, docs, status ON listings FOR EACH ROW
      WHEN ((OLD.name, OLD.tags, OLD.description, OLD.docs, OLD.status)
        IS DISTINCT FROM (NEW.name, NEW.tags, NEW.description, NEW.docs, NEW.status))
      EXECUTE FUNCTION note_embedding_due();
    INSERT INTO listing_embeddings (listing_id) SELECT id FROM listings WHERE status = 'active';
  END $$`;
