/**
 * In how many processes a server runs for tests whose subject is the same in each of them: in long runs also in
 * several. What concerns workers themselves is tested with both in every run.
 */
export const workerCounts: readonly string[] = process.env['TEST_LONG'] === '1' ? ['1', '2'] : ['1']
