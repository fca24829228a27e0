// Features that the source uses and Node 20 lacks. Each does nothing where Node has it.
import 'core-js/actual/map/group-by.js'
import 'core-js/actual/promise/with-resolvers.js'
import 'core-js/actual/url/parse.js'
