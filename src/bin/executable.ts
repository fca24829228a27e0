import { main } from '#bin/main.ts'
import { WORKER_WORD } from '#cluster/program.ts'

// A single executable has no files beside it, so it runs its workers by a word.
if (process.argv[2] === WORKER_WORD) void import('#cluster/worker-program.ts')
else void main()
