// Makes a service on this machine reachable:
// ADIT_AUTHTOKEN=$(cat data/authtoken) node_modules/.bin/node examples/forward.ts 8080
import { forward } from 'adit'

const tunnel = await forward({
  forwardTo: process.argv[2] ?? 8080,
  onStatus: ({ state, error }) => console.log(error ? `${state}: ${error.message}` : state),
})
console.log(`${tunnel.url} -> ${tunnel.forwardsTo}`)

process.once('SIGINT', () => void tunnel.close())
const error = await tunnel.closed
if (error) console.error(error.message)
