# What dumbbell.tcl has for flows of ns-2's DCCP: a file of its own, so that what is known of its TCP stays
# known when this changes.

# A data packet has 32 bytes of headers, of which 20 are IP's; acknowledgements have 4 more, and options.
set datagram [expr {$set_to(packet) - 32}]
Agent/DCCP set packetSize_ $datagram
Agent/DCCP set sb_size_ 100000
Agent/DCCP set ackv_size_ 100000
# Its check of nonces fails where an Ack Vector is longer than its options can be.
foreach end {local remote} {
    foreach class {Agent/DCCP Agent/DCCP/TCPlike Agent/DCCP/TFRC} {
        $class set use_ecn_${end}_ 0
    }
    Agent/DCCP/TFRC set use_ackv_${end}_ 0
}
Agent/DCCP/TCPlike set initial_ssthresh_ $set_to(ssthresh)
Agent/DCCP/TFRC set s_s_ $datagram
Agent/DCCP/TFRC set r_s_ $datagram
# It takes no loss event rate for smaller; 10^-5 would hold a flow at 65 Mbit/s.
Agent/DCCP/TFRC set s_smallest_p_ 1e-9

# Reductions of a sender's window have no counter: the window is looked at often.
array set reductions {}
array set last_window {}
proc look {} {
    global ns laws senders reductions last_window
    set number -1
    foreach law $laws sender $senders {
        incr number
        if {$law eq "dccp-tcplike"} {
            set window [$sender set cwnd_]
            if {[info exists last_window($number)] && $window < 0.8 * $last_window($number)} {
                incr reductions($number)
            }
            set last_window($number) $window
        }
    }
    $ns at [expr {[$ns now] + 0.01}] look
}
$ns at 0 look

# Its receiver counts nothing: what left the last router did arrive.
proc dccp_counters {number} {
    global arrivals reductions datagram
    set packets [expr {int([[lindex $arrivals $number] set pdepartures_])}]
    set events [expr {[info exists reductions($number)] ? $reductions($number) : 0}]
    list $packets [expr {$packets * $datagram}] $events 0 0
}
