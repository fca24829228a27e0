import { main } from '#bin/main.ts'
import { WORKER_ARGUMENT } from '#cluster/program.ts'
import { SUPERVISOR_ARGUMENT } from '#server/supervise.ts'

// A single executable has no files next to it, so it starts its other programs by an argument.
if (process.argv[2] === WORKER_ARGUMENT) void import('#cluster/worker-program.ts')
else if (process.argv[2] === SUPERVISOR_ARGUMENT) void import('#server/supervisor-program.ts')
else void main()
