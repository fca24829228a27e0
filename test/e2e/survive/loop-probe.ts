import { createServer } from 'node:http'

/**
 * Loaded into a server before its own program: tells on a socket how long its event loop stood still at most. Only
 * processor time counts, so that a busy machine does not make the server look slow.
 */
const used = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

let before = used()
let longest = 0
setInterval(() => {
  const now = used()
  longest = Math.max(longest, now - before)
  before = now
}, 1).unref()

createServer((_, response) => {
  response.end(String(longest))
  longest = 0
})
  .listen(process.env['LOOP_PROBE'])
  .unref()
