import { join } from 'node:path'

/** Where `scripts/test/build-program.ts` puts the launcher of the bundled program. */
export const BUILT = 'node_modules/.cache/test-program/bin/adit'

/**
 * The program that tests start. `npm test` has it bundled as the packages have it, which starts in half of the time;
 * otherwise it runs from the sources.
 */
export const program = join(
  import.meta.dirname,
  '../..',
  process.env['TEST_BUILT'] === 'yes' ? BUILT : 'bin/adit',
)
