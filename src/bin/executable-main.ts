import { main } from '#bin/main.ts'
import { WORKER_WORD } from '#cluster/program.ts'

// A single executable has no files next to it, so it starts its workers by an argument.
if (process.argv[2] === WORKER_WORD) void import('#cluster/worker-program.ts')
else void main()
