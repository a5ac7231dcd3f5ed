# One dumbbell in ns-2: flows with a law each share one drop-tail bottleneck.
#
#   ns dumbbell.tcl rate=100 rtt=70 queue=583 time=90 warmup=20 ssthresh=291 "flows=reno@0.1;cubic@0.35"
#
# Every flow has its own two hosts; their links to the routers have 1 Gbit/s and a sixteenth of the
# one-way delay each, or the rate of the bottleneck where that is larger. Standard output gets, for
# the time from warmup to the end,
#
#   flow NUMBER LAW packets N bytes N events N lost N
#   link mean_queue PACKETS utilisation SHARE delivered N drops N
#   hops N
#   memory KIB
#
# where events are reductions of the window and lost is what the sender repeated; hops counts
# transmissions over all links (TCP only); memory is the most that the program took.
# docs/peers.md says what each setting is for.

array set set_to {
    rate 100 rtt 70 queue 583 time 60 warmup 0 packet 1500 ack 1 window 100000 watch 1
    ssthresh 100000 flows reno@0
}
foreach word $argv {
    foreach {name value} [split $word =] {}
    if {![info exists set_to($name)]} {
        puts stderr "there is no setting $name"
        exit 2
    }
    set set_to($name) $value
}

# Headers of protocols that do not run would be copied with every packet.
remove-all-packet-headers
if {[string match *dccp-* $set_to(flows)]} {
    add-packet-header IP TCP Flags DCCP DCCP_REQ DCCP_RESP DCCP_DATA DCCP_ACK DCCP_DATAACK \
        DCCP_CLOSEREQ DCCP_CLOSE DCCP_RESET
} else {
    add-packet-header IP TCP Flags
}
set ns [new Simulator]

# 12 bytes of timestamps as Linux has them; then 52 bytes of headers leave 1448 of 1500.
Agent/TCP set ts_option_size_ 12
Agent/TCP set timestamps_ true
Agent/TCP set minrto_ 0.2
Agent/TCP set window_ $set_to(window)
Agent/TCP set packetSize_ [expr {$set_to(packet) - 52}]
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/TCPSink set packetSize_ 52
Agent/TCPSink/DelAck set interval_ 40ms
if {[string match *dccp-* $set_to(flows)]} {
    source [file join [file dirname [info script]] dccp.tcl]
}

set rate [expr {$set_to(rate) * 1e6}]
set access [expr {max(1e9, $rate)}]
set one_way [expr {$set_to(rtt) / 2000.0}]
set left [$ns node]
set right [$ns node]
set middle_delay [expr {$one_way * 14 / 16}]
set end_delay [expr {$one_way / 16}]
$ns duplex-link $left $right $rate $middle_delay DropTail
# Its DropTail keeps one packet less than its limit says.
$ns queue-limit $left $right [expr {$set_to(queue) + 1}]
$ns queue-limit $right $left 1000000

proc host {router} {
    global ns access end_delay
    set host [$ns node]
    $ns duplex-link $host $router $access $end_delay DropTail
    $ns queue-limit $host $router 1000000
    $ns queue-limit $router $host 1000000
    return $host
}

set laws {}
set senders {}
set arrivals {}
foreach flow [split $set_to(flows) {;}] {
    foreach {law start} [split $flow @] {}
    set from [host $left]
    set to [host $right]
    if {$law eq "dccp-tcplike" || $law eq "dccp-tfrc"} {
        set class [expr {$law eq "dccp-tfrc" ? "Agent/DCCP/TFRC" : "Agent/DCCP/TCPlike"}]
        set sender [new $class]
        set sink [new $class]
    } else {
        set sender [new Agent/TCP/Linux]
        set sink [new Agent/TCPSink/Sack1[expr {$set_to(ack) == 2 ? "/DelAck" : ""}]]
    }
    $ns attach-agent $from $sender
    $ns attach-agent $to $sink
    $ns connect $sender $sink
    if {[string match dccp-* $law]} {
        $ns at 0 "$sink listen"
        lappend arrivals [$ns monitor-queue $right $to ""]
    } else {
        lappend arrivals none
        # What it has when it takes up its law stays in force.
        $ns at 0 "$sender set ssthresh_ $set_to(ssthresh); $sender select_ca $law"
    }
    set source [new Application/FTP]
    $source attach-agent $sender
    $ns at $start "$source start"
    lappend laws $law
    lappend senders $sender
}

if {$set_to(watch)} {
    set monitor [$ns monitor-queue $left $right ""]
    set waiting [$monitor get-pkts-integrator]
}

# All counters of a flow: packets and bytes of payload, reductions, repeated packets.
proc counters {number} {
    global laws senders set_to
    set sender [lindex $senders $number]
    if {[string match dccp-* [lindex $laws $number]]} {
        return [dccp_counters $number]
    }
    set payload [expr {$set_to(packet) - 52}]
    # The sink counts bytes, but in 32 bits; the first packet has number 0.
    set packets [expr {[$sender set ack_] + 1}]
    list $packets [expr {$packets * $payload}] [$sender set ncwndcuts_] \
        [$sender set nrexmitpack_] [expr {[$sender set ndatapack_] + [$sender set nackpack_]}]
}

proc remember {} {
    global ns laws before monitor waiting before_link set_to
    for {set n 0} {$n < [llength $laws]} {incr n} {
        set before($n) [counters $n]
    }
    if {$set_to(watch)} {
        $waiting newpoint [$ns now] [$waiting set lasty_]
        set before_link [list [$waiting set sum_] [$monitor set pdepartures_] \
            [$monitor set pdrops_]]
    }
}

proc finish {} {
    global ns laws before monitor waiting before_link set_to rate
    set time [expr {$set_to(time) - $set_to(warmup)}]
    set hops 0
    for {set n 0} {$n < [llength $laws]} {incr n} {
        set values {}
        foreach now [counters $n] then $before($n) {
            lappend values [expr {$now - $then}]
        }
        foreach {packets bytes events lost journeys} $values {}
        # Three links each way.
        incr hops [expr {3 * $journeys}]
        puts "flow $n [lindex $laws $n] packets $packets bytes $bytes events $events lost $lost"
    }
    if {$set_to(watch)} {
        $waiting newpoint [$ns now] [$waiting set lasty_]
        set values {}
        foreach now [list [$waiting set sum_] [$monitor set pdepartures_] \
            [$monitor set pdrops_]] then $before_link {
            lappend values [expr {$now - $then}]
        }
        foreach {sum packets drops} $values {}
        puts [format "link mean_queue %.2f utilisation %.5f delivered %d drops %d" \
            [expr {$sum / $time}] [expr {$packets * $set_to(packet) * 8.0 / $rate / $time}] \
            [expr {int($packets)}] [expr {int($drops)}]]
    }
    puts "hops $hops"
    if {![catch {open /proc/[pid]/status} status]} {
        regexp {VmHWM:\s+(\d+)} [read $status] -> kib
        puts "memory $kib"
    }
    exit 0
}

$ns at $set_to(warmup) remember
$ns at $set_to(time) finish
$ns run
