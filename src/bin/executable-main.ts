import { main } from '#bin/main.ts'
import { WORKER_WORD } from '#cluster/program.ts'
import { SUPERVISOR_WORD } from '#server/supervise.ts'

// A single executable has no files next to it, so it starts its other programs by an argument.
if (process.argv[2] === WORKER_WORD) void import('#cluster/worker-program.ts')
else if (process.argv[2] === SUPERVISOR_WORD) void import('#server/supervisor-program.ts')
else void main()
