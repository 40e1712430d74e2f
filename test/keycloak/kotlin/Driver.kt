import org.json.JSONArray
import org.json.JSONObject
import kotlin.concurrent.thread

/** Answers a line of JSON with the name of a function and its arguments by a line of JSON. */
fun main(args: Array<String>) {
    val client = Client(args[0])
    for (line in generateSequence(::readLine)) {
        val (name, given) = JSONArray(line).let { it.getString(0) to it.getJSONArray(1) }
        val answer = JSONObject()
        try {
            answer.put("value", when (name) {
                "begin" -> client.begin().let { (url, pending) -> JSONArray().put(url).put(JSONObject(pending)) }
                "finish" -> given.getJSONObject(1).let { client.finish(given.getString(0), Pending(it.getString("redirectUri"), it.getString("state"), it.getString("nonce"), it.getString("codeVerifier"))) }.let { true }
                "call" -> IntArray(given.getInt(1)).also { all ->
                    all.indices.map { i -> thread { all[i] = client.call(given.getString(0)).statusCode() } }.forEach { it.join() }
                }
                else -> client.tokens["accessToken"]
            })
        } catch (error: Exception) {
            answer.put("error", error.message)
        }
        println(answer)
    }
}
