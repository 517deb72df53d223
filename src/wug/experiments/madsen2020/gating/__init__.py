"""What the gates of NALU and of a gated NAU/NMU choose: table 5 and figure 9."""
