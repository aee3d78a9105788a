import first from '../../migrations/0001_replica.sql';
import answers from '../../migrations/0002_answers.sql';
import raft from '../../migrations/0003_raft.sql';
import checksums from '../../migrations/0004_checksums.sql';

/** The migrations of a replica's SQLite, in order; a number once given is never used again. */
export const MIGRATIONS: readonly string[] = [first, answers, raft, checksums];
