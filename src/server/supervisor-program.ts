import { isSea } from 'node:sea'
import type { LogLevel } from '#base/log-levels.ts'
import { Restarts } from '#server/restarts.ts'
import { SupervisedServer } from '#server/supervised-server.ts'
import { supervisorLog } from '#server/supervisor-log.ts'

// The level, and the arguments that start the server; both are valid. A single executable has a word before them.
const [level = 'info', ...command] = process.argv.slice(isSea() ? 3 : 2)
const log = supervisorLog(level as LogLevel)
process.on('uncaughtException', error => log.error({ error }, 'uncaught error; the server continues'))
const first = new SupervisedServer({ command, log })
const restarts = new Restarts({ first, start: () => SupervisedServer.succeed({ command, log }), log })
process.on('SIGHUP', () => restarts.send('reload'))
for (const signal of ['SIGTERM', 'SIGINT'])
  process.once(signal, () => {
    restarts.stop()
    restarts.send('stop')
  })
void restarts.ended().then(code => process.exit(code))
